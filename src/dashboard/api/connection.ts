/** The state of the tab's WebSocket, for the navigation's footer and for retries. */
import { createStore, useStore } from './store.ts'

/** idle: no subscription is open. lost: the connection broke or failed, and is retried. */
export type ConnectionState = 'idle' | 'connecting' | 'live' | 'lost'

const connection = createStore<{ state: ConnectionState; since: number }>({ state: 'idle', since: Date.now() })
export const useConnection = () => useStore(connection)

export function setConnectionState(state: ConnectionState): void {
  if (connection.get().state !== state) connection.set({ state, since: Date.now() })
}
