package replicatest

import "github.com/mortisemq/mortise/core/meta"

// Full implements Replicas.
func (p *process) Full() bool { return p.dirs.Full() }

// leaveUnfit asks to leave the replicas that count of every partition that has failed here,
// or has no room, as alterpartition.Sender does: it needs goroutines.
func (p *process) leaveUnfit() {
	var d *meta.Draft
	for _, id := range p.held {
		h := p.find(id)
		if h == nil || p.leaving[id] {
			continue
		}
		failed := h.Log() == nil || h.Offline() != nil
		if !failed && !h.Full() {
			continue
		}
		if d == nil {
			d = p.control.image.Draft()
		}
		if c := (meta.ISRChange{PartitionID: id, Failed: failed, Full: !failed}); p.env.mayLeave(d, &c) {
			p.leaving[id] = true
			p.env.ProposeISR(c)
		}
	}
}

// mayLeave says whether it is worth asking.
func (e *Env) mayLeave(d *meta.Draft, c *meta.ISRChange) bool {
	return e.Bug == LeaveAlone && c.Full || d.MayLeave(e.ID, c)
}

// Full implements Replicas.
func (p *modelProcess) Full() bool { return p.machine.full }

// leaveFull is leaveUnfit of a model, whose logs don't fail.
func (p *modelProcess) leaveFull() {
	if !p.machine.full || p.image == nil {
		return
	}
	d := p.image.Draft()
	for _, id := range p.held {
		r := p.replicas[id]
		if c := (meta.ISRChange{PartitionID: id, Full: true}); (r.leading || r.stuck) && !r.leaving && p.env.mayLeave(d, &c) {
			r.leaving = true
			p.env.ProposeISR(c)
		}
	}
}
