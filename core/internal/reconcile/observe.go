package reconcile

import "github.com/mortisemq/mortise/core/meta"

// Observe has f called with each image that is in effect here: the last one now,
// later ones as they come, one call at a time. f runs while no other image is
// applied, so that it must be quick and must not call Start, Close or Apply.
func (r *Roles) Observe(f func(*meta.Image)) {
	r.apply.Lock()
	defer r.apply.Unlock()
	r.observers = append(r.observers, f)
	if r.image != nil {
		f(r.image)
	}
}

// observed tells the observers. Caller holds apply.
func (r *Roles) observed(img *meta.Image) {
	for _, f := range r.observers {
		f(img)
	}
}
