//! Distances and cells on the map, for the route planner.

mod cell;

pub use cell::{cell_of, neighbours, Cell};

const EARTH_RADIUS_KM: f64 = 6371.0;

/// A point on the map, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub latitude: f64,
    pub longitude: f64,
}

/// Why a point was refused.
#[derive(Debug, PartialEq)]
pub enum PointError {
    Latitude(f64),
    Longitude(f64),
}

impl Point {
    pub fn new(latitude: f64, longitude: f64) -> Result<Self, PointError> {
        if !(-90.0..=90.0).contains(&latitude) {
            return Err(PointError::Latitude(latitude));
        }
        if !(-180.0..=180.0).contains(&longitude) {
            return Err(PointError::Longitude(longitude));
        }
        Ok(Self { latitude, longitude })
    }

    /// Great-circle distance by the haversine formula.
    pub fn distance_km(self, other: Point) -> f64 {
        let (phi_1, phi_2) = (self.latitude.to_radians(), other.latitude.to_radians());
        let half_phi = (phi_2 - phi_1) / 2.0;
        let half_lambda = (other.longitude - self.longitude).to_radians() / 2.0;
        let chord = half_phi.sin().powi(2) + phi_1.cos() * phi_2.cos() * half_lambda.sin().powi(2);
        2.0 * EARTH_RADIUS_KM * chord.sqrt().asin()
    }
}

/// The depot nearest to a point, or nothing when there are no depots.
pub fn nearest_depot<'a>(point: Point, depots: &'a [(String, Point)]) -> Option<&'a str> {
    depots
        .iter()
        .min_by(|a, b| point.distance_km(a.1).total_cmp(&point.distance_km(b.1)))
        .map(|(name, _)| name.as_str())
}
