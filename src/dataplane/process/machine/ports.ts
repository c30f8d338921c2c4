/**
 * Reserves a port for each deployment. The file `ports/<port>` holds the deployment's id; creating it decides between servers
 * that want the same port.
 */
import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { StepFailure } from '../../output/step-failure.ts'

export interface PortRange {
  folder: string
  /** inclusive */
  range: readonly [low: number, high: number]
  bindAddress: string
}

/** Returns the deployment's port; reserves a free one on the first call. Throws StepFailure when no port is left. */
export async function reservePort(ports: PortRange, deploymentId: string): Promise<number> {
  fs.mkdirSync(ports.folder, { recursive: true, mode: 0o700 })
  const [own] = portsOf(ports, deploymentId)
  // even when APP_PORTS no longer contains it: clients know its URL
  if (own !== undefined) return own
  const [low, high] = ports.range
  const taken = new Set(fs.readdirSync(ports.folder))
  const draft = path.join(ports.folder, `.${deploymentId}`)
  fs.writeFileSync(draft, deploymentId)
  try {
    for (let port = low; port <= high; port++) {
      if (taken.has(String(port)) || !(await isFree(port, ports.bindAddress))) continue
      try {
        // link() creates the file with its content in one step, and fails if the name exists
        fs.linkSync(draft, path.join(ports.folder, String(port)))
        return port
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
    }
  } finally {
    fs.rmSync(draft, { force: true })
  }
  throw new StepFailure(
    'PORT_IN_USE',
    `No port between ${low} and ${high} is free: widen APP_PORTS or delete a deployment, then redeploy.`,
  )
}

/** Whether a port is reserved for the deployment. */
export const hasPort = (ports: PortRange, deploymentId: string): boolean => portsOf(ports, deploymentId).length > 0

/** Chooses a free port for the door at the first call, the same one for all servers of the folder. */
export async function choosePort({ folder }: PortRange): Promise<number> {
  const file = path.join(folder, 'door')
  if (!fs.existsSync(file)) {
    const draft = `${file}.${process.pid}`
    fs.writeFileSync(draft, String(await unusedPort()))
    try {
      fs.linkSync(draft, file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    } finally {
      fs.rmSync(draft, { force: true })
    }
  }
  return Number(fs.readFileSync(file, 'utf8'))
}

export function releasePort(ports: Pick<PortRange, 'folder'>, deploymentId: string): void {
  for (const port of portsOf(ports, deploymentId)) fs.rmSync(path.join(ports.folder, String(port)), { force: true })
}

function portsOf({ folder }: Pick<PortRange, 'folder'>, deploymentId: string): number[] {
  if (!fs.existsSync(folder)) return []
  const belongs = (name: string) => {
    try {
      return /^\d+$/.test(name) && fs.readFileSync(path.join(folder, name), 'utf8') === deploymentId
    } catch {
      return false // another server has just released it
    }
  }
  return fs.readdirSync(folder).filter(belongs).map(Number)
}

export function isFree(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = net.createServer()
    probe.once('error', () => resolve(false))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/** A port is not handed out again until this many others were, so that two agents never get the same one. */
const RECENT_PORTS = 1000

/** Returns a function that yields free loopback ports for agents, never one of `range`. */
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
