/** Returns a port of this machine that is currently unused. */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'

export async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}
