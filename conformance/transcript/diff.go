package transcript

import "strings"

// diffContext is how many equal lines are shown around a difference.
const diffContext = 2

// diff shows two texts line by line: - is wanted, + is what came.
func diff(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	line := func(mark string, lines []string) {
		for _, l := range lines {
			out.WriteString("  " + mark + " " + l + "\n")
		}
	}
	line(" ", a[max(0, head-diffContext):head])
	line("-", a[head:len(a)-tail])
	line("+", b[head:len(b)-tail])
	line(" ", a[len(a)-tail:min(len(a), len(a)-tail+diffContext)])
	return out.String()
}
