export interface Bed {
  id: string;
  name: string;
  squareMetres: number;
  plants: string[];
  owner: string;
  version: number;
}

export interface MoistureReading {
  sensor: string;
  takenAt: string;
  percent: number;
}

export interface ValveOpening {
  bed: string;
  from: string;
  seconds: number;
  reason: "dry" | "planned" | "added";
}

export interface WateringPlan {
  day: string;
  openings: ValveOpening[];
}

export declare function validateBed(bed: Partial<Bed>): Record<string, string>;
export declare function refreshToken(client: unknown): Promise<string | null>;
