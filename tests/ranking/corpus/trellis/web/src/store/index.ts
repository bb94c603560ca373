export { createStore, type Store } from "./createStore";
export { bedsStore, loadBeds, saveBed } from "./beds";
export { sessionStore, signIn, signOut, refreshToken } from "./session";
