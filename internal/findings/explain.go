package findings

import "slices"

// differsInForce is the finding of a file that says something else than its
// broker runs with.
const differsInForce = "MIG281"

// explained takes out of MIG281 what another finding that blocks says of the
// same line: a wrong line that was written after the broker's start is one
// fault, and the other finding says what is wrong with it.
func explained(list []Finding) []Finding {
	said := map[string]string{} // place to code
	for _, f := range list {
		if f.Code == differsInForce || f.Severity != Block || f.Verdict != Found {
			continue
		}
		for _, i := range f.Items {
			said[i.Where] = f.Code
		}
	}
	for n, f := range list {
		if f.Code != differsInForce || f.Verdict != Found {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(f.Items), func(i Item) bool { return said[i.Where] != "" })
		if len(left) == 0 {
			list[n].Verdict, list[n].Behind = Skipped, said[f.Items[0].Where]
		}
		list[n].Items = left
	}
	return list
}
