// Command prefixpartitioner keeps keys with the same prefix together: customer-7/order-1
// and customer-7/order-2.
package main
