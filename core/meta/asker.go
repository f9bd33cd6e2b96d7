package meta

import "context"

// askerKey is the key of a context's principal.
type askerKey struct{}

// For notes in a context for which principal something is asked of Control. It is for
// people who look up who changed what: whether the principal may was settled before.
func For(ctx context.Context, principal string) context.Context {
	return context.WithValue(ctx, askerKey{}, principal)
}

// AskedFor is the principal of For; empty: the cluster asks for itself.
func AskedFor(ctx context.Context) string {
	principal, _ := ctx.Value(askerKey{}).(string)
	return principal
}
