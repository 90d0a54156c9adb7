package regex

import "fmt"

type opcode byte

const (
	opString opcode = iota // the text str
	opClass                // one code point of cls
	opLoop                 // min to max code points of cls
	opAlt                  // one of arms, in order
	opSplit                // go on at x, on failure at y
	opJump                 // to x
	opMark                 // remember the position in mark x
	opCheck                // if nothing was consumed since mark x, leave the loop: to y
	opLook                 // the program at pc+1 matches here (neg: does not); then to x
	opBehind               // the same for text that ends here, of min to max code points
	opAtomic               // the program at pc+1 without return into it; then to x
	opAssert               // a place in the text
	opMatch                // the end of a program
)

type inst struct {
	op       opcode
	neg      bool
	mode     mode
	kind     assertion
	x, y     int32
	min, max int32 // max < 0: without bound
	str      string
	cls      *class
	arms     []int32
	table    *[257]uint64 // per first byte, 256 at the end of the text: the arms that can match
	follow   *byteSet     // opLoop: what the next instruction can start with, nil if not known
}

// maxProgram bounds the instructions of a pattern: counted groups are unrolled.
const maxProgram = 20000

type compiler struct {
	prog  []inst
	marks int32
	full  bool
}

func (c *compiler) emit(in inst) int32 {
	if len(c.prog) >= maxProgram {
		c.full = true
		return 0
	}
	c.prog = append(c.prog, in)
	return int32(len(c.prog) - 1)
}

func (c *compiler) here() int32 { return int32(len(c.prog)) }

func (c *compiler) node(n node) {
	if c.full {
		return
	}
	switch n := n.(type) {
	case literal:
		c.emit(inst{op: opString, str: string(n)})
	case *class:
		c.emit(inst{op: opClass, cls: n})
	case sequence:
		c.sequence(n)
	case choice:
		c.choice(n)
	case *repeat:
		c.repeat(n)
	case *look:
		op := opLook
		if n.behind {
			op = opBehind
		}
		c.nested(inst{op: op, neg: n.neg, min: int32(n.shortest), max: int32(n.far)}, n.sub)
	case *atomic:
		c.nested(inst{op: opAtomic}, n.sub)
	case assertion:
		c.emit(inst{op: opAssert, kind: n})
	default:
		panic(fmt.Sprintf("regex: no code for %T", n)) // parse makes no other node
	}
}

// sequence joins neighbouring literals before it emits them.
func (c *compiler) sequence(items sequence) {
	text := ""
	flush := func() {
		if text != "" {
			c.emit(inst{op: opString, str: text})
			text = ""
		}
	}
	for _, item := range items {
		if l, ok := item.(literal); ok {
			text += string(l)
			continue
		}
		flush()
		c.node(item)
	}
	flush()
}

func (c *compiler) nested(in inst, sub node) {
	at := c.emit(in)
	c.node(sub)
	c.emit(inst{op: opMatch})
	if !c.full {
		c.prog[at].x = c.here()
	}
}

func (c *compiler) choice(arms choice) {
	if len(arms) > 64 {
		arms = append(append(choice{}, arms[:63]...), arms[63:])
	}
	at := c.emit(inst{op: opAlt})
	table := &[257]uint64{}
	var starts, exits []int32
	for i, arm := range arms {
		set, nullable := first(arm)
		for b := range 256 {
			if nullable || set.has(byte(b)) {
				table[b] |= 1 << i
			}
		}
		if nullable {
			table[256] |= 1 << i
		}
		starts = append(starts, c.here())
		c.node(arm)
		exits = append(exits, c.emit(inst{op: opJump}))
	}
	if c.full {
		return
	}
	c.prog[at].arms, c.prog[at].table = starts, table
	for _, e := range exits {
		c.prog[e].x = c.here()
	}
}

func (c *compiler) repeat(n *repeat) {
	if l, ok := n.sub.(literal); ok && len([]rune(string(l))) == 1 {
		n = &repeat{sub: single([]rune(string(l))[0], false), min: n.min, max: n.max, mode: n.mode}
	}
	if cls, ok := n.sub.(*class); ok {
		c.emit(inst{op: opLoop, cls: cls, min: int32(n.min), max: int32(n.max), mode: n.mode})
		return
	}
	if n.mode == possessive {
		c.nested(inst{op: opAtomic}, &repeat{sub: n.sub, min: n.min, max: n.max})
		return
	}
	for range n.min {
		if c.node(n.sub); c.full {
			return
		}
	}
	if n.max < 0 {
		c.star(n)
		return
	}
	var exits []int32
	for range n.max - n.min {
		exits = append(exits, c.emit(inst{op: opSplit, mode: n.mode}))
		if c.full {
			return
		}
		c.prog[exits[len(exits)-1]].x = c.here()
		c.node(n.sub)
	}
	if c.full {
		return
	}
	for _, e := range exits {
		c.prog[e].y = c.here()
	}
}

func (c *compiler) star(n *repeat) {
	_, nullable := first(n.sub)
	top := c.emit(inst{op: opSplit, mode: n.mode})
	if c.full {
		return
	}
	c.prog[top].x = c.here()
	mark := c.marks
	if nullable {
		c.marks++
		c.emit(inst{op: opMark, x: mark})
	}
	c.node(n.sub)
	check := int32(-1)
	if nullable {
		check = c.emit(inst{op: opCheck, x: mark})
	}
	c.emit(inst{op: opJump, x: top})
	if c.full {
		return
	}
	c.prog[top].y = c.here()
	if check >= 0 {
		c.prog[check].y = c.here()
	}
}

// finish ends the program and notes, behind each loop, what its continuation can start with.
func (c *compiler) finish() []inst {
	c.emit(inst{op: opMatch})
	for i := range c.prog[:len(c.prog)-1] {
		if c.prog[i].op != opLoop {
			continue
		}
		var set byteSet
		switch next := &c.prog[i+1]; {
		case next.op == opString:
			set.add(next.str[0])
		case next.op == opClass, next.op == opLoop && next.min > 0:
			set.addClass(next.cls)
		default:
			continue
		}
		c.prog[i].follow = &set
	}
	return c.prog
}
