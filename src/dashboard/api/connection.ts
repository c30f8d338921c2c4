/** Whether this page hears of changes: the state of its one WebSocket, for the footer of the navigation and for who waits to ask again. */
import { createStore, useStore } from './store.ts'

/** idle: nothing is followed. lost: it was there, or should be, and is tried again. */
export type ConnectionState = 'idle' | 'connecting' | 'live' | 'lost'

const connection = createStore<{ state: ConnectionState; since: number }>({ state: 'idle', since: Date.now() })
export const useConnection = () => useStore(connection)

export function setConnectionState(state: ConnectionState): void {
  if (connection.get().state !== state) connection.set({ state, since: Date.now() })
}
