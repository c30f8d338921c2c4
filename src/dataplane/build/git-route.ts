/**
 * Decides which addresses git may connect to: public ones and private ones in OUTBOUND_ALLOW. The host name is resolved once and
 * git connects to the checked addresses, so a second DNS answer has no effect.
 */
import dns from 'node:dns'
import { isIP } from 'node:net'
import { addressAllowed, hostOf, type OutboundRules } from '../../platform/http/outbound-address.ts'
import { StepFailure } from '../output/step-failure.ts'
import type { Remote } from './repository.ts'

export interface GitRoute {
  host: string
  port: string
  /** all allowed; the first is preferred */
  addresses: string[]
}

const DEFAULT_PORTS: Record<string, string> = { https: '443', http: '80', ssh: '22' }

/** Null for a repository on this machine. Throws StepFailure when no address of the host is allowed. */
export async function resolveRoute({ url, protocol }: Remote, rules: OutboundRules): Promise<GitRoute | null> {
  if (protocol === 'file') return null
  const parsed = new URL(url)
  const host = hostOf(parsed)
  const found = isIP(host) ? [host] : await lookUp(host)
  const addresses = found.filter((address) => addressAllowed(rules, host, address))
  // the message does not name the address: users must not be able to resolve internal names
  if (addresses.length === 0)
    throw new StepFailure(
      'CLONE_FAILED',
      `The repository host ${host} is at a private address: add ${host} to OUTBOUND_ALLOW where the build runs, then redeploy.`,
    )
  return { host, port: parsed.port || DEFAULT_PORTS[protocol]!, addresses }
}

async function lookUp(host: string): Promise<string[]> {
  try {
    const found = await dns.promises.lookup(host, { all: true, hints: dns.ADDRCONFIG })
    return found.map(({ address }) => address)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new StepFailure('CLONE_FAILED', `The repository host ${host} could not be looked up (${code}).`)
  }
}

/** Lines of git's configuration: libcurl resolves no name, and git follows no redirects and no http-alternates. */
export function httpConfig({ host, port, addresses }: GitRoute): string[] {
  const pinned = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',')
  const pin = isIP(host) ? [] : [`\tcurloptResolve = ${host}:${port}:${pinned}`]
  return ['[http]', '\tfollowRedirects = false', ...pin]
}

/**
 * `version`: output of `git version`. Throws StepFailure for a git that ignores `curloptResolve`, since it resolves the name
 * again.
 */
export function requirePinning(version: string): void {
  const [major = 0, minor = 0] = /\d+\.\d+/.exec(version)?.[0].split('.').map(Number) ?? []
  if (major > 2 || (major === 2 && minor >= 37)) return
  throw new StepFailure(
    'TOOL_MISSING',
    `Fetching from another host needs git 2.37 or newer, and this machine has ${version}: update git, then redeploy.`,
  )
}

/** Options of ssh: it connects to the checked address, and verifies the host key by the host's name. */
export function sshOptions({ host, port, addresses }: GitRoute): string[] {
  const alias = port === DEFAULT_PORTS.ssh ? host : `[${host}]:${port}`
  return ['-o', `HostName=${addresses[0]}`, '-o', `HostKeyAlias=${alias}`]
}
