import { useState } from "react";
import type { ApiClient } from "../http/client";
import { saveBed, type Bed } from "../store/beds";
import { validateBed } from "../validation";
import { PlantPicker } from "./PlantPicker";

interface Props {
  bed: Bed;
  client: ApiClient;
  onSaved: () => void;
}

/** The form in which a gardener changes a bed and skips its next watering. */
export function BedEditor({ bed, client, onSaved }: Props) {
  const [draft, setDraft] = useState(bed);
  const [saving, setSaving] = useState(false);
  const problems = validateBed(draft);
  const blocked = saving || Object.keys(problems).length > 0;

  async function submit(event: React.FormEvent) {
    event.preventDefault();
    setSaving(true);
    try {
      await saveBed(client, draft);
      onSaved();
    } finally {
      setSaving(false);
    }
  }

  return (
    <form onSubmit={submit}>
      <label>
        Name
        <input value={draft.name} onChange={(event) => setDraft({ ...draft, name: event.target.value })} />
        {problems.name && <em role="alert">{problems.name}</em>}
      </label>
      <label>
        Area in m²
        <input
          type="number"
          value={draft.squareMetres}
          onChange={(event) => setDraft({ ...draft, squareMetres: event.target.valueAsNumber })}
        />
        {problems.squareMetres && <em role="alert">{problems.squareMetres}</em>}
      </label>
      <PlantPicker client={client} chosen={draft.plants} onChange={(plants) => setDraft({ ...draft, plants })} />
      <button disabled={blocked}>Save</button>
      <button type="button" onClick={() => client.post(`/api/beds/${bed.id}/skip`, {})}>
        Skip the next watering
      </button>
    </form>
  );
}
