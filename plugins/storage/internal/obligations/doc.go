// Package obligations holds first-party retention rules to the obligations of
// sdk/storage, on random facts. Only tests import it.
//
// It owns the facts that it draws and the checks. It must not know any rule. It
// imports sdk/storage.
package obligations
