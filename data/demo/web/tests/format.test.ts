import { describe, expect, it } from "vitest";
import { isParcelNumber } from "../src/api";
import { relativeDay, statusLabel } from "../src/format";

describe("format", () => {
  it("names days near by", () => {
    const today = new Date(2024, 2, 11);
    expect(relativeDay(new Date(2024, 2, 12), today)).toBe("tomorrow");
    expect(relativeDay(new Date(2024, 2, 14), today)).toBe("Thursday");
  });

  it("has a label for what a customer sees most", () => {
    expect(statusLabel("out_for_delivery")).toBe("With the driver");
  });

  it("knows a parcel number when it sees one", () => {
    expect(isParcelNumber(" px204418803 ")).toBe(true);
    expect(isParcelNumber("204418803")).toBe(false);
  });
});
