// Command teamtopics lets every principal use the topics and groups that begin with its
// name and a dot: User:billing may use billing.invoices. About everything else it has no
// opinion.
package main
