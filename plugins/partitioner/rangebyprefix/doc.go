// Package rangebyprefix keeps keys apart on purpose: each rule gives the keys with a
// prefix, or the keys that are numbers within bounds, partitions of their own. A team,
// a region or a large customer can so have partitions that no other key reaches.
//
//	{
//	  "rules": [
//	    {"prefix": "eu-", "partitions": "0-3"},
//	    {"prefix": "eu-archive-", "partitions": 4},
//	    {"from": 1, "to": 999, "partitions": "5-6"}
//	  ],
//	  "otherwise": "7-11"
//	}
//
// A key that is a whole decimal number (a minus sign, digits, nothing else) goes by the
// numeric rule whose bounds hold it, both included; numeric rules must not overlap.
// Every other key, and a number that no bounds hold, goes by the longest prefix.
// What no rule takes goes to otherwise, which is all partitions unless it is set.
// Among the partitions of a rule keys are spread by murmur2. A null key may go
// anywhere; an empty one is a key without a rule.
//
// It owns the rules and their order. If a rule names a partition that the topic lacks,
// the question fails: a topic with too few partitions is a mistake of the operator,
// and to reroute keys would hide it.
//
// It imports sdk/partitioner.
package rangebyprefix
