//! Transformations of the plane, as PDF writes them.

/// A transformation `[a b c d e f]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Matrix(pub(super) [f32; 6]);

impl Matrix {
    /// The transformation that changes nothing.
    pub(super) const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    /// A shift.
    pub(super) fn shift(x: f32, y: f32) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// The transformation that does this one first, then `next`.
    pub(super) fn then(self, next: Self) -> Self {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (self.0, next.0);
        Self([
            a * g + b * i,
            a * h + b * j,
            c * g + d * i,
            c * h + d * j,
            e * g + f * i + k,
            e * h + f * j + l,
        ])
    }

    /// Returns the image of the origin.
    pub(super) fn origin(self) -> (f32, f32) {
        let [.., x, y] = self.0;
        (x, y)
    }

    /// Returns the images of the directions of the x axis and the y axis.
    pub(super) fn axes(self) -> ((f32, f32), (f32, f32)) {
        let [a, b, c, d, ..] = self.0;
        ((a, b), (c, d))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transformations_follow_one_another() {
        let scaled = Matrix([2.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
        assert_eq!(Matrix::shift(1.0, 3.0).then(scaled).origin(), (2.0, 6.0));
        assert_eq!(scaled.then(Matrix::shift(1.0, 3.0)).origin(), (1.0, 3.0));
        assert_eq!(scaled.then(Matrix::IDENTITY), scaled);
    }
}
