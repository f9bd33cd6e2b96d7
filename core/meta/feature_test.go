package meta

import "testing"

// TestFeaturesOfAnOldCluster: one that was made before a feature was there lacks it,
// and gets it by an upgrade, as kafka-features asks for it.
func TestFeaturesOfAnOldCluster(t *testing.T) {
	old := Empty("c").Edit(1)
	old.SetFeature("metadata.version", 33)
	img := old.Image()
	if level, there := img.Features()[GroupVersion]; there {
		t.Fatalf("an old cluster has level %d", level)
	}
	for level, refused := range map[int16]bool{1: false, 2: true} {
		why := img.CheckFeatureUpdate(&FeatureUpdate{Name: GroupVersion, Level: level, Downgrade: UpgradeOnly}, 1)
		if (why != nil) != refused {
			t.Errorf("to level %d: %v", level, why)
		}
	}
}
