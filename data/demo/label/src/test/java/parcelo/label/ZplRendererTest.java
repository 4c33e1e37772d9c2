package parcelo.label;

/** Run by the build without a framework: it ends with an exception if anything is wrong. */
public final class ZplRendererTest {

    public static void main(String[] arguments) {
        var address = new Label.Address("A. Receiver", "1 ^XA Street", "Town", "DK");
        String zpl = new ZplRenderer(8).render(new Label("PX204418803", address, 1200, true));
        check(zpl.contains("FRAGILE"), "fragile parcels say so");
        check(!zpl.contains("1 ^XA Street"), "an address cannot hold a command");
    }

    private static void check(boolean holds, String promise) {
        if (!holds) {
            throw new AssertionError(promise);
        }
    }
}
