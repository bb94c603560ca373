//! Runs the statements of navigation, so that each is prepared.

use contract::Fault;
use store::use_places::{self, PlacesOf, WantedEdges, WantedPlaces};
use store::{Certainty, ProjectTx, UsedFor, hit_edges};

/// Runs every statement of `use_places` and `hit_edges`; what they find does not matter.
pub(super) async fn run_statements(tx: &mut ProjectTx) -> Result<(), Fault> {
    let edges = WantedEdges { kinds: UsedFor::ANY, certainty: Certainty::Name, limit: 10 };
    for of in [PlacesOf::Symbols(&[1]), PlacesOf::Names(&[1])] {
        let wanted = WantedPlaces { of, kinds: UsedFor::ANY, certainty: Certainty::Name };
        use_places::by_file(tx, &wanted, 10).await?;
        use_places::page(tx, &wanted, &[1], (0, 10)).await?;
    }
    use_places::edges_to(tx, &[1], edges).await?;
    use_places::edges_from(tx, &[1], &[1], edges).await?;
    use_places::edges_without_source(tx, &[1], edges).await?;
    use_places::in_line(tx, 1, 1).await?;
    use_places::popularity(tx, &[1], 10).await?;
    use_places::defined_names(tx, &[1], (1, 9), 10).await?;
    use_places::files_at(tx, &[1], "a file that does not exist").await?;
    use_places::paths_of(tx, &[1]).await?;
    use_places::gaps(tx, &[1]).await?;
    use_places::has_symbols(tx, 1).await?;
    use_places::chunks_of_uses(tx, &[1], UsedFor::ANY, 10).await?;
    use_places::chunks_of_callees(tx, &[1], 10).await?;
    use_places::chunks_of_derived(tx, &[1], 10).await?;
    hit_edges::files_with_symbols(tx, &[1]).await?;
    hit_edges::read(tx, &[(1, 1)]).await?;
    Ok(())
}
