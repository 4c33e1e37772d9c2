use geo::{cell_of, nearest_depot, neighbours, Point, PointError};

#[test]
fn copenhagen_is_480_km_from_oslo() {
    let copenhagen = Point::new(55.6761, 12.5683).unwrap();
    let oslo = Point::new(59.9139, 10.7522).unwrap();
    assert!((copenhagen.distance_km(oslo) - 483.0).abs() < 2.0);
}

#[test]
fn a_point_off_the_map_is_refused() {
    assert_eq!(Point::new(91.0, 0.0), Err(PointError::Latitude(91.0)));
}

#[test]
fn no_depots_means_no_nearest_one() {
    assert_eq!(nearest_depot(Point::new(0.0, 0.0).unwrap(), &[]), None);
}

#[test]
fn a_cell_has_eight_neighbours() {
    assert_eq!(neighbours(cell_of(Point::new(0.05, 179.99).unwrap())).len(), 8);
}
