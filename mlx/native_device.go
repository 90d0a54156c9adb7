//go:build cgo && mlx

package mlx

/*
#include "shim.h"
*/
import "C"

import "strings"

func kind(d Device) C.int {
	if d.IsGPU() {
		return 1
	}
	return 0
}

func deviceOf(kind, index C.int) Device {
	if kind == 1 {
		return GPU(int(index))
	}
	return DeviceCPU
}

func devices() ([]Device, error) {
	out := []Device{DeviceCPU}
	r := C.gr_device_count(1)
	for i := range int(r.value) {
		out = append(out, GPU(i))
	}
	return out, failure("device_count", r.err)
}

func deviceInfo(d Device) (map[string]string, error) {
	var text *C.char
	err := failure("device_info", C.gr_device_info(kind(d), C.int(d.Index()), &text))
	out := map[string]string{}
	for _, line := range strings.Split(takeText(text), "\n") {
		if k, v, ok := strings.Cut(line, "\t"); ok {
			out[k] = v
		}
	}
	return out, err
}

func defaultDevice() Device {
	var k, i C.int
	if failure("default_device", C.gr_default_device(&k, &i)) != nil {
		return DeviceCPU
	}
	return deviceOf(k, i)
}

func setDefaultDevice(d Device) error {
	return failure("set_default_device", C.gr_set_default_device(kind(d), C.int(d.Index())))
}

func newStream(d Device) (Stream, error) {
	a, err := single("new_stream", C.gr_stream_new(kind(d), C.int(d.Index())))
	return Stream(a), err
}

func defaultStream(d Device) (Stream, error) {
	a, err := single("default_stream", C.gr_stream_default(kind(d), C.int(d.Index())))
	return Stream(a), err
}

func streamDevice(s Stream) Device {
	var k, i C.int
	if failure("stream_device", C.gr_stream_device(C.uintptr_t(s.ctx), &k, &i)) != nil {
		return DeviceCPU
	}
	return deviceOf(k, i)
}

func freeStream(s Stream) { C.gr_stream_free(C.uintptr_t(s.ctx)) }

func synchronize(s Stream) error { return failure("synchronize", C.gr_synchronize(C.uintptr_t(s.ctx))) }

func memory(which int) int {
	r := C.gr_memory(C.int(which))
	if failure("memory", r.err) != nil {
		return 0
	}
	return int(r.value)
}

func setLimit(which, bytes int) (int, error) {
	r := C.gr_set_limit(C.int(which), C.int64_t(bytes))
	return int(r.value), failure("set_limit", r.err)
}

func clearCache() error { return failure("clear_cache", C.gr_clear_cache()) }

func resetPeakMemory() error { return failure("reset_peak_memory", C.gr_reset_peak()) }
