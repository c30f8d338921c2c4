/**
 * The deployments' ports. A file for each, `ports/<port>`, holds the id of the deployment it belongs to; the
 * file system decides between servers that want the same one.
 */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { StepFailure } from '../../../output/step-failure.ts'

export interface PortRange {
  folder: string
  /** inclusive */
  range: readonly [low: number, high: number]
  bindAddress: string
}

/** The deployment's own port; reserves one that is free if it has none. Throws StepFailure when none is left. */
export async function reservePort(ports: PortRange, deploymentId: string): Promise<number> {
  fs.mkdirSync(ports.folder, { recursive: true, mode: 0o700 })
  const [own] = portsOf(ports, deploymentId)
  // also when APP_PORTS was changed since: its address is known to others
  if (own !== undefined) return own
  const [low, high] = ports.range
  const taken = new Set(fs.readdirSync(ports.folder))
  const note = path.join(ports.folder, `.${deploymentId}`)
  fs.writeFileSync(note, deploymentId)
  try {
    for (let port = low; port <= high; port++) {
      if (taken.has(String(port)) || !(await isFree(port, ports.bindAddress))) continue
      try {
        // a link appears with its whole content, or fails if the name is taken
        fs.linkSync(note, path.join(ports.folder, String(port)))
        return port
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
  } finally {
    fs.rmSync(note, { force: true })
  }
  throw new StepFailure(
    'PORT_IN_USE',
    `No port between ${low} and ${high} is free: widen APP_PORTS or delete a deployment, then redeploy.`,
  )
}

/** Gives the deployment's port back. */
export function releasePort(ports: PortRange, deploymentId: string): void {
  for (const port of portsOf(ports, deploymentId)) fs.rmSync(path.join(ports.folder, String(port)), { force: true })
}

function portsOf({ folder }: PortRange, deploymentId: string): number[] {
  const belongs = (name: string) => {
    try {
      return /^\d+$/.test(name) && fs.readFileSync(path.join(folder, name), 'utf8') === deploymentId
    } catch {
      return false // another server has just given it back
    }
  }
  return fs.readdirSync(folder).filter(belongs).map(Number)
}

/** Whether a program could listen there at this moment. */
export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/** Ports given out are not given again for as long as that many others were, so that two agents can't meet on one. */
const RECENT_PORTS = 1000

/** Gives ports of this machine's loopback that nobody listens on, for agents. Never one of `range`. */
export function ephemeralPorts([low, high]: readonly [number, number]): () => Promise<number> {
  const given: number[] = []
  return async () => {
    for (;;) {
      const port = await unusedPort()
      if ((port >= low && port <= high) || given.includes(port)) continue
      given.push(port)
      if (given.length > RECENT_PORTS) given.shift()
      return port
    }
  }
}

function unusedPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = net.createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as net.AddressInfo
      probe.close(() => resolve(port))
    })
  })
}
