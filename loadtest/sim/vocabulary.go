package sim

import "strings"

// words are what answers are made of: 256 whole words, so that a word is one
// token here and in what a client sends back in a later turn.
const words = `
able about above across after again against air all almost alone along also always among animal answer any
area around ask away back base become been before began begin behind being below best better between big bird
black blue boat body book both box boy bring brought build busy call came car care carry center change check
children city class clear close cold color come common complete could country course cover cross cut dark day
decide deep develop did differ direct distance does dog done door down draw drive dry during each early earth
ease east eat end enough even ever every example eye face fact fall family far farm fast father feel feet few
field figure fill final find fine fire first fish five fly follow food foot force form found four free friend
front full game gave girl give gold good govern great green ground group grow half hand happen hard have head
hear heard heat help here high hold home horse hot hour house hundred idea inch interest island just keep kind
king knew know land language large last late laugh lay lead learn leave left less letter life light like line
list listen little live long look love low machine made main make man many map mark mean measure men might
mile mind minute miss money moon more morning most mother mountain move much music must name near need never
new next night north note nothing notice noun number object ocean off often old once only open order other
over own page`

// vocabulary is words with the token of each. Immutable once made.
type vocabulary struct {
	words  []string
	tokens []token
}

func newVocabulary() vocabulary {
	v := vocabulary{words: strings.Fields(words)}
	for _, word := range v.words {
		v.tokens = append(v.tokens, tokenOf(word))
	}
	return v
}

// index of the n-th word of the answer that seed stands for.
func (v vocabulary) index(seed uint64, n int) int {
	return int(mix(seed, uint64(n)) % uint64(len(v.words)))
}
