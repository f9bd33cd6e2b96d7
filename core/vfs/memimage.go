package vfs

import "bytes"

// pageBytes is what images share or copy as a whole.
const pageBytes = 4096

type memPage [pageBytes]byte

// memImage is the bytes of a file in pages that it shares with its snapshots until one
// of them writes: a test keeps thousands of crashed disks at the cost of what differs.
// A page that was only ever zeros has no memory. Guarded by Mem.mu of each disk that
// has one of the images: a shared page is never written.
type memImage struct {
	size  int64
	pages []*memPage // nil: zeros
	own   []bool     // this image alone has the page
}

// snapshot is the image as it is now.
func (i *memImage) snapshot() memImage {
	clear(i.own)
	return memImage{i.size, append([]*memPage(nil), i.pages...), make([]bool, len(i.pages))}
}

// resize cuts the image or fills it up with zeros.
func (i *memImage) resize(size int64) {
	n := int((size + pageBytes - 1) / pageBytes)
	if size < i.size {
		i.pages, i.own = i.pages[:n], i.own[:n]
		if rest := size % pageBytes; rest > 0 && i.pages[n-1] != nil {
			clear(i.page(n - 1)[rest:])
		}
	}
	if more := n - len(i.pages); more > 0 {
		i.pages, i.own = append(i.pages, make([]*memPage, more)...), append(i.own, make([]bool, more)...)
	}
	i.size = size
}

// page is a page to write to.
func (i *memImage) page(n int) *memPage {
	if i.own[n] {
		return i.pages[n]
	}
	made := new(memPage)
	if i.pages[n] != nil {
		*made = *i.pages[n]
	}
	i.pages[n], i.own[n] = made, true
	return made
}

// write stores p at off, growing the image where it has to.
func (i *memImage) write(p []byte, off int64) {
	i.parts(int64(len(p)), off, func(n int, at, part int64) {
		if i.pages[n] != nil || !isZeros(p[:part]) {
			copy(i.page(n)[at:], p[:part])
		}
		p = p[part:]
	})
}

// zero stores n zeros at off, growing the image where it has to.
func (i *memImage) zero(n, off int64) {
	i.parts(n, off, func(n int, at, part int64) {
		if i.pages[n] != nil {
			clear(i.page(n)[at : at+part])
		}
	})
}

// parts makes room for n bytes at off and has f see the part of each page that they
// touch.
func (i *memImage) parts(n, off int64, f func(page int, at, part int64)) {
	if end := off + n; n > 0 && end > i.size {
		i.resize(end)
	}
	for n > 0 {
		at := off % pageBytes
		part := min(n, pageBytes-at)
		f(int(off/pageBytes), at, part)
		n, off = n-part, off+part
	}
}

// read fills p from off and returns how many bytes there were.
func (i *memImage) read(p []byte, off int64) int {
	p = p[:max(0, min(int64(len(p)), i.size-off))]
	for rest := p; len(rest) > 0; {
		n, at := int(off/pageBytes), off%pageBytes
		part := rest[:min(int64(len(rest)), pageBytes-at)]
		if page := i.pages[n]; page != nil {
			copy(part, page[at:])
		} else {
			clear(part)
		}
		rest, off = rest[len(part):], off+int64(len(part))
	}
	return len(p)
}

func isZeros(p []byte) bool {
	var zeros memPage
	for len(p) > 0 {
		part := p[:min(len(p), pageBytes)]
		if !bytes.Equal(part, zeros[:len(part)]) {
			return false
		}
		p = p[len(part):]
	}
	return true
}
