# constants of kernels: the build writes the .pxd beside this file
"""Forms of attributes' values (DWARF 5, 7.5.6; those of split files before it and of dwz), without `DW_FORM_`."""

ADDR = 0x01
BLOCK2 = 0x03
BLOCK4 = 0x04
DATA2 = 0x05
DATA4 = 0x06
DATA8 = 0x07
STRING = 0x08
BLOCK = 0x09
BLOCK1 = 0x0A
DATA1 = 0x0B
FLAG = 0x0C
SDATA = 0x0D
STRP = 0x0E
UDATA = 0x0F
REF_ADDR = 0x10
REF1 = 0x11
REF2 = 0x12
REF4 = 0x13
REF8 = 0x14
REF_UDATA = 0x15
INDIRECT = 0x16
SEC_OFFSET = 0x17
EXPRLOC = 0x18
FLAG_PRESENT = 0x19
STRX = 0x1A
ADDRX = 0x1B
REF_SUP4 = 0x1C
STRP_SUP = 0x1D
DATA16 = 0x1E
LINE_STRP = 0x1F
REF_SIG8 = 0x20
IMPLICIT_CONST = 0x21
LOCLISTX = 0x22
RNGLISTX = 0x23
REF_SUP8 = 0x24
STRX1 = 0x25
STRX2 = 0x26
STRX3 = 0x27
STRX4 = 0x28
ADDRX1 = 0x29
ADDRX2 = 0x2A
ADDRX3 = 0x2B
ADDRX4 = 0x2C
GNU_ADDR_INDEX = 0x1F01
GNU_STR_INDEX = 0x1F02
GNU_REF_ALT = 0x1F20
GNU_STRP_ALT = 0x1F21
LLVM_ADDRX_OFFSET = 0x2001

# Sizes that are not the same in all units, or for all values.
SIZE_VARIES = 255
SIZE_OF_OFFSET = 254
SIZE_OF_ADDRESS = 253
SIZE_OF_REFERENCE = 252
"""To another unit: in DWARF 2 of an address, else of an offset."""

_OF_SIZE = {
    0: (FLAG_PRESENT, IMPLICIT_CONST),
    1: (DATA1, FLAG, REF1, STRX1, ADDRX1),
    2: (DATA2, REF2, STRX2, ADDRX2),
    3: (STRX3, ADDRX3),
    4: (DATA4, REF4, REF_SUP4, STRX4, ADDRX4),
    8: (DATA8, REF8, REF_SIG8, REF_SUP8),
    16: (DATA16,),
    SIZE_OF_OFFSET: (STRP, LINE_STRP, STRP_SUP, SEC_OFFSET),
    SIZE_OF_ADDRESS: (ADDR,),
    SIZE_OF_REFERENCE: (REF_ADDR,),
}
_SIZE_OF = {form: size for size, forms in _OF_SIZE.items() for form in forms}

SIZES = bytes(_SIZE_OF.get(form, SIZE_VARIES) for form in range(ADDRX4 + 1))
"""Bytes of a value by form, of those below the GNU ones."""
