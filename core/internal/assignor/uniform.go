package assignor

import "github.com/mortisemq/mortise/core/kafka"

// Uniform is Kafka's assignor "uniform". It fails with ErrUnknownTopic only.
func Uniform(members []Member, topics map[kafka.TopicID]Topic) (Assignment, error) {
	if len(members) == 0 {
		return Assignment{}, nil
	}
	p, err := newPlan(members, topics)
	if err != nil {
		return nil, err
	}
	if p.homogeneous() {
		p.assignAlike()
	} else {
		p.assignMixed()
	}
	return p.result(), nil
}
