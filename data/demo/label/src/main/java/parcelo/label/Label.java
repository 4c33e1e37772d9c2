package parcelo.label;

/** What stands on a label. The number is printed and also encoded as a bar code. */
public record Label(String number, Address recipient, int grams, boolean fragile) {

    public Label {
        if (!number.matches("PX\\d{9}")) {
            throw new IllegalArgumentException("not a parcel number: " + number);
        }
        if (grams <= 0) {
            throw new IllegalArgumentException("a parcel weighs something");
        }
    }

    /** Four lines at most; the thermal printer has no room for a fifth. */
    public record Address(String name, String street, String city, String country) {

        public String[] lines() {
            return new String[] {name, street, city, country};
        }
    }
}
