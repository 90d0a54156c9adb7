package jinja

import (
	"fmt"
	"strings"
	"time"

	"github.com/graphrun/graphrun/text/jinja/py"
)

// strftime is Python's, with the C locale. A flag between % and the letter is glibc's: - leaves out padding, _ pads with
// spaces, 0 with zeros, ^ gives capitals.
func strftime(t time.Time, format string) (string, error) {
	if len(format) > py.MaxSize/64 {
		return "", fmt.Errorf("the format is too long")
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		flag := byte(0)
		if strings.IndexByte("-_0^#", format[i]) >= 0 && i+1 < len(format) {
			flag = format[i]
			i++
		}
		text, ok := directive(t, format[i], flag)
		if !ok {
			b.WriteString("%" + strings.TrimLeft(string(flag), "\x00") + format[i:i+1])
			continue
		}
		if flag == '^' {
			text = strings.ToUpper(text)
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

func directive(t time.Time, c, flag byte) (string, bool) {
	padded := func(n, width int, fill string) (string, bool) {
		switch flag {
		case '-':
			width = 0
		case '_':
			fill = " "
		case '0':
			fill = "0"
		}
		s := fmt.Sprint(n)
		return strings.Repeat(fill, max(width-len(s), 0)) + s, true
	}
	go12 := (t.Hour()+11)%12 + 1
	switch c {
	case 'Y':
		return padded(t.Year(), 0, "0")
	case 'y':
		return padded(t.Year()%100, 2, "0")
	case 'C':
		return padded(t.Year()/100, 2, "0")
	case 'm':
		return padded(int(t.Month()), 2, "0")
	case 'd':
		return padded(t.Day(), 2, "0")
	case 'e':
		return padded(t.Day(), 2, " ")
	case 'H':
		return padded(t.Hour(), 2, "0")
	case 'k':
		return padded(t.Hour(), 2, " ")
	case 'I':
		return padded(go12, 2, "0")
	case 'l':
		return padded(go12, 2, " ")
	case 'M':
		return padded(t.Minute(), 2, "0")
	case 'S':
		return padded(t.Second(), 2, "0")
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 'j':
		return padded(t.YearDay(), 3, "0")
	case 'w':
		return padded(int(t.Weekday()), 1, "0")
	case 'u':
		return padded((int(t.Weekday())+6)%7+1, 1, "0")
	case 'U':
		return padded((t.YearDay()+6-int(t.Weekday()))/7, 2, "0")
	case 'W':
		return padded((t.YearDay()+6-(int(t.Weekday())+6)%7)/7, 2, "0")
	case 'V':
		_, week := t.ISOWeek()
		return padded(week, 2, "0")
	case 'G':
		year, _ := t.ISOWeek()
		return padded(year, 0, "0")
	case 's':
		return padded(int(t.Unix()), 0, "0")
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	case 'Z':
		// Python's datetime.now() has no zone: %Z and %z are empty.
		return "", true
	case 'z':
		return "", true
	}
	layouts := map[byte]string{
		'B': "January", 'b': "Jan", 'h': "Jan", 'A': "Monday", 'a': "Mon", 'p': "PM", 'P': "pm",
		'c': "Mon Jan _2 15:04:05 2006", 'x': "01/02/06", 'X': "15:04:05", 'D': "01/02/06", 'F': "2006-01-02",
		'T': "15:04:05", 'R': "15:04", 'r': "03:04:05 PM",
	}
	layout, ok := layouts[c]
	return t.Format(layout), ok
}
