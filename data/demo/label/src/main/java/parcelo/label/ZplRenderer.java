package parcelo.label;

/** Renders a label in ZPL, the language of most thermal printers. */
public final class ZplRenderer {

    private static final int LINE_HEIGHT_DOTS = 40;
    private static final int MARGIN_DOTS = 30;

    private final int dotsPerMillimetre;

    public ZplRenderer(int dotsPerMillimetre) {
        this.dotsPerMillimetre = dotsPerMillimetre;
    }

    public String render(Label label) {
        StringBuilder zpl = new StringBuilder("^XA\n");
        int y = MARGIN_DOTS;
        for (String line : label.recipient().lines()) {
            zpl.append(text(MARGIN_DOTS, y, line));
            y += LINE_HEIGHT_DOTS;
        }
        if (label.fragile()) {
            zpl.append(text(MARGIN_DOTS, y, "FRAGILE"));
        }
        zpl.append(barcode(label.number(), y + 2 * LINE_HEIGHT_DOTS));
        return zpl.append("^XZ\n").toString();
    }

    /** Carets and tildes begin a command in ZPL and must not come from an address. */
    static String escape(String text) {
        return text.replace("^", " ").replace("~", " ");
    }

    private static String text(int x, int y, String line) {
        return "^FO%d,%d^A0N,32,32^FD%s^FS\n".formatted(x, y, escape(line));
    }

    private String barcode(String number, int y) {
        int height = 12 * dotsPerMillimetre;
        return "^FO%d,%d^BCN,%d,Y,N,N^FD%s^FS\n".formatted(MARGIN_DOTS, y, height, number);
    }
}
