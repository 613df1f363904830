package sim

// blockPool is the KV cache: blocks with reference counts, of which those that
// nobody holds form a list ordered by when they were let go. A block keeps its
// content after that and is found by the hash of its tokens and all before
// them, until it is taken for something else: the list's oldest goes first,
// which makes the prefix cache LRU. Not safe for concurrent use.
type blockPool struct {
	blocks []block // the last one is the list's sentinel
	byHash map[uint64]int32
	free   int
	cache  bool
}

type block struct {
	refs       int32
	prev, next int32 // neighbours among the free blocks
	hash       uint64
	cached     bool // byHash leads here
}

func newBlockPool(size int, cache bool) *blockPool {
	p := &blockPool{blocks: make([]block, size+1), byHash: make(map[uint64]int32), cache: cache}
	p.blocks[size] = block{prev: int32(size), next: int32(size)}
	for i := range size {
		p.link(int32(i))
	}
	return p
}

// size is the number of blocks.
func (p *blockPool) size() int { return len(p.blocks) - 1 }

// match returns how many of hashes, from the first on, are in the cache and
// how many of these are free now: taking the match uses those up.
func (p *blockPool) match(hashes []uint64) (found, free int) {
	if !p.cache {
		return 0, 0
	}
	for _, h := range hashes {
		id, ok := p.byHash[h]
		if !ok {
			break
		}
		if p.blocks[id].refs == 0 {
			free++
		}
		found++
	}
	return found, free
}

// reuse takes a reference on the cached block of each hash, which match found.
func (p *blockPool) reuse(held []int32, hashes []uint64) []int32 {
	for _, h := range hashes {
		id := p.byHash[h]
		if p.blocks[id].refs == 0 {
			p.unlink(id)
		}
		p.blocks[id].refs++
		held = append(held, id)
	}
	return held
}

// take appends n fresh blocks, evicting what they held; the caller has made
// sure that so many are free.
func (p *blockPool) take(held []int32, n int) []int32 {
	sentinel := int32(p.size())
	for range n {
		id := p.blocks[sentinel].next
		p.unlink(id)
		b := &p.blocks[id]
		if b.cached {
			delete(p.byHash, b.hash)
			b.cached = false
		}
		b.refs = 1
		held = append(held, id)
	}
	return held
}

// publish makes a full block findable. Where another block holds the same
// tokens already, that one stays the one found.
func (p *blockPool) publish(id int32, hash uint64) {
	if !p.cache || p.blocks[id].cached {
		return
	}
	if _, taken := p.byHash[hash]; taken {
		return
	}
	p.byHash[hash] = id
	p.blocks[id].hash, p.blocks[id].cached = hash, true
}

// release lets go of held, last block first, so that the ends of chains are
// evicted before their beginnings.
func (p *blockPool) release(held []int32) {
	for i := len(held) - 1; i >= 0; i-- {
		b := &p.blocks[held[i]]
		if b.refs--; b.refs == 0 {
			p.link(held[i])
		}
	}
}

// link appends a block to the free list.
func (p *blockPool) link(id int32) {
	sentinel := int32(p.size())
	last := p.blocks[sentinel].prev
	p.blocks[id].prev, p.blocks[id].next = last, sentinel
	p.blocks[last].next = id
	p.blocks[sentinel].prev = id
	p.free++
}

func (p *blockPool) unlink(id int32) {
	b := &p.blocks[id]
	p.blocks[b.prev].next = b.next
	p.blocks[b.next].prev = b.prev
	p.free--
}
