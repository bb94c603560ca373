export { ApiClient, ApiError } from "./http/client";
export { withRetry, withToken } from "./http/interceptors";
export { createRouter, type Route } from "./router";
export { bedsStore, sessionStore } from "./store";
export { validateBed, validateEmail } from "./validation";
export { BedEditor } from "./components/BedEditor";
export { PlantPicker } from "./components/PlantPicker";
export { useDebounce } from "./hooks/useDebounce";
