package mlx

// Array is a handle of an array of MLX. The zero Array is absent: optional inputs are left out with it, and operations
// after an error give it. Handles compare equal when they are the same handle.
type Array struct{ ctx uintptr }

// Valid tells whether there is an array.
func (a Array) Valid() bool { return a.ctx != 0 }

// Handle is the array's ctx in mlx-c, for package native; 0 for the absent array.
func (a Array) Handle() uintptr { return a.ctx }

// Adopt makes an Array of a ctx that package native made: it counts as live, and somebody frees it.
func Adopt(ctx uintptr) Array {
	countArray()
	return Array{ctx}
}

// Free lets go of the handle. Freeing the absent array does nothing; freeing a handle twice, or one that a scope owns,
// is an error that is not detected.
func (a Array) Free() {
	if a.ctx != 0 {
		freeArrays([]Array{a})
	}
}

// FreeAll frees many handles in one call.
func FreeAll(a ...Array) {
	if len(a) > 0 {
		freeArrays(a)
	}
}

// Clone gives a second handle of the same array, for the caller to free; absent for absent.
func (a Array) Clone() Array {
	if a.ctx == 0 {
		return Array{}
	}
	return cloneArray(a)
}

// Shape gives the sizes of the dimensions; nil for the absent array, empty for a scalar. It does not evaluate.
func (a Array) Shape() []int {
	if a.ctx == 0 {
		return nil
	}
	return arrayShape(a)
}

// Ndim is the number of dimensions.
func (a Array) Ndim() int {
	if a.ctx == 0 {
		return 0
	}
	return arrayNdim(a)
}

// Dim is the size of dimension i, counted from the end when negative; 0 where there is none.
func (a Array) Dim(i int) int {
	shape := a.Shape()
	if i < 0 {
		i += len(shape)
	}
	if i < 0 || i >= len(shape) {
		return 0
	}
	return shape[i]
}

// Size is the number of elements; 0 for the absent array.
func (a Array) Size() int {
	if a.ctx == 0 {
		return 0
	}
	n := 1
	for _, d := range a.Shape() {
		n *= d
	}
	return n
}

// Nbytes is the number of bytes of the elements.
func (a Array) Nbytes() int { return a.Size() * a.Dtype().Size() }

// Dtype is the element type; Bool for the absent array.
func (a Array) Dtype() Dtype {
	if a.ctx == 0 {
		return Bool
	}
	return arrayDtype(a)
}

// String evaluates and prints the array as MLX does.
func (a Array) String() string {
	if a.ctx == 0 {
		return "absent"
	}
	return arrayText(a)
}

// LiveArrays counts the handles that were made and not freed: tests hold it flat.
func LiveArrays() int { return liveArrays() }
