import { ApiClient, ApiError } from "../http/client";
import { createStore } from "./createStore";

export interface Bed {
  id: string;
  name: string;
  squareMetres: number;
  plants: string[];
  owner: string;
  version: number;
}

interface BedsState {
  byId: Record<string, Bed>;
  loading: boolean;
  /** Ids whose last save met a newer version on the server. */
  conflicts: string[];
}

export const bedsStore = createStore<BedsState>({ byId: {}, loading: false, conflicts: [] });

export async function loadBeds(client: ApiClient): Promise<void> {
  bedsStore.set({ loading: true });
  try {
    const beds = await client.get<Bed[]>("/api/beds");
    bedsStore.set({ byId: Object.fromEntries(beds.map((bed) => [bed.id, bed])) });
  } finally {
    bedsStore.set({ loading: false });
  }
}

/** Shows the change at once and takes it back when the server refuses. */
export async function saveBed(client: ApiClient, bed: Bed): Promise<void> {
  const before = bedsStore.get().byId[bed.id];
  put(bed);
  try {
    put(await client.put<Bed>(`/api/beds/${bed.id}`, bed));
    bedsStore.set(({ conflicts }) => ({ conflicts: conflicts.filter((id) => id !== bed.id) }));
  } catch (error) {
    put(before);
    if (error instanceof ApiError && error.status === 409) {
      put(error.body as Bed);
      bedsStore.set(({ conflicts }) => ({ conflicts: [...conflicts, bed.id] }));
      return;
    }
    throw error;
  }
}

function put(bed: Bed): void {
  bedsStore.set(({ byId }) => ({ byId: { ...byId, [bed.id]: bed } }));
}
