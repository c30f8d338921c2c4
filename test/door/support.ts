// Opens ports of a door without a keeper.
import type { Tenant } from '../../src/door/listener.ts'
import { Listeners } from '../../src/door/listeners.ts'

/** Resolves with what closes the port, once it is open. */
export async function openPort(place: Tenant['place'], proxy: Tenant['proxy'], listeners = new Listeners()) {
  return new Promise<() => void>((resolve) => {
    const tenant: Tenant = {
      place,
      proxy,
      onListening: (_port, problem) => problem === null && resolve(() => listeners.remove(listener, tenant)),
    }
    const listener = listeners.add(tenant)
  })
}
