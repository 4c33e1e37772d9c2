//! Square cells of a tenth of a degree: coarse enough to hide an address, fine enough to plan a round.

use crate::Point;

#[cfg(not(feature = "wide-cells"))]
const CELLS_PER_DEGREE: f64 = 10.0;
#[cfg(feature = "wide-cells")]
const CELLS_PER_DEGREE: f64 = 2.0;

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Cell {
    pub row: i32,
    pub column: i32,
}

pub fn cell_of(point: Point) -> Cell {
    Cell {
        row: (point.latitude * CELLS_PER_DEGREE).floor() as i32,
        column: (point.longitude * CELLS_PER_DEGREE).floor() as i32,
    }
}

/// The eight cells around one; columns wrap at the date line.
pub fn neighbours(cell: Cell) -> Vec<Cell> {
    let width = (360.0 * CELLS_PER_DEGREE) as i32;
    let wrap = |column: i32| (column + width / 2).rem_euclid(width) - width / 2;
    let mut found = Vec::with_capacity(8);
    for row in -1..=1 {
        for column in -1..=1 {
            if (row, column) != (0, 0) {
                found.push(Cell { row: cell.row + row, column: wrap(cell.column + column) });
            }
        }
    }
    found
}
