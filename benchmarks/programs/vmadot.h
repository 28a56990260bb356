/* The X60's matrix instruction for assemblers that do not know it, in front of source that writes it
 * as text: SpacemiT, "AI Matrix Extension", chapter 8. */
__asm__(".irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
        ".set .Lnumber_v\\n, \\n\n"
        ".endr\n"
        ".irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n"
        ".set .Lnumber_v\\n, \\n\n"
        ".endr\n"
        ".macro vmadot sums, left, right\n"
        ".4byte 0xe200302b | .Lnumber_\\sums << 7 | .Lnumber_\\left << 15 | .Lnumber_\\right << 20\n"
        ".endm\n");
