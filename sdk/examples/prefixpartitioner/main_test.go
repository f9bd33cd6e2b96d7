package main

import (
	"testing"

	"github.com/mortisemq/mortise/sdk/sdktest"
)

func TestContract(t *testing.T) {
	for _, source := range []sdktest.Source{sdktest.Values(Plugin()), sdktest.InProcess(Plugin())} {
		sdktest.Run(t, source, Plugin().Kind, Plugin().Name, `{}`)
	}
}
