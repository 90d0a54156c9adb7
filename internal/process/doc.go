// Package process tells what the system knows of this process: its memory. It never changes a setting.
package process
