/**
 * A scripted listener over the data-plane protocol: it takes the steps of its deployments and reports what each
 * deployment's script says, without the delays of a cluster.
 */
import type { OwnServer } from './server.ts'

/** The script of a deployment by name. Steps without a script succeed. */
interface Part {
  /** The DEPLOY stays in progress with this message. */
  waits?: { reason: string; message: string }
  /** The DEPLOY fails with this message. */
  fails?: { reason: string; message: string }
  /** The health of the running revision. */
  health?: { ready: number; desired: number; message: string | null; reason: string | null }
}

export interface Cluster {
  id: string
  /** Sets the scripts for the following turns. */
  play(name: string, part: Part): void
  /** Sends one heartbeat and performs all open steps; resolves when none is left. */
  turn(): Promise<void>
}

interface Claim {
  claim_id: string
  token: string
  generation: number
  deployment: { name: string }
  run: object | null
  step: {
    id: string
    kind: string
    tries: number
    revision: { id: string; number: number; attempt: number } | null
  } | null
}

const HEALTHY = { ready: 1, desired: 1, message: null, reason: null }
/** The maximum, because no test depends on a lease's end here. */
const LEASE_SECONDS = 600

/** Registers it under a cluster's name, with a separate key. */
export async function openCluster(server: OwnServer, computeId: string): Promise<Cluster> {
  const { id } = await server.rest('POST', '/v2/listeners', {
    compute_type: 'k8s',
    compute_id: computeId,
    compute_config: { k8s_namespaces: ['agents'] },
  })
  const key = await server.newKey('listener', computeId, '--listener', id)
  const call = (path: string, body: object) => server.rest('POST', `/v2/listeners/${id}${path}`, body, key)
  const parts = new Map<string, Part>()
  const held = new Map<string, Claim>()

  /** Performs the step of a claim as its script says. */
  async function act(claim: Claim): Promise<void> {
    const { waits, fails } = parts.get(claim.deployment.name) ?? {}
    while (claim.step) {
      const { id: step_id, kind, tries, revision } = claim.step
      if (kind === 'DEPLOY' && waits) return
      const failed = kind === 'DEPLOY' && fails ? fails : null
      const { assignment } = await call(`/claims/${claim.claim_id}/complete`, {
        token: claim.token,
        step_id,
        tries,
        outcome: failed ? 'failed' : 'succeeded',
        ...failed,
        ...(kind === 'DEPLOY' &&
          !failed && { url: `https://${claim.deployment.name}.example.com`, image_version: `1.${revision?.number}.0` }),
      })
      Object.assign(claim, { step: null }, assignment)
    }
  }

  async function beat(): Promise<void> {
    const claims = [...held.values()].map(({ claim_id, token, generation, run, step, deployment }) => {
      const { waits, health } = parts.get(deployment.name) ?? {}
      return {
        claim_id,
        token,
        generation,
        ...(step && waits && { progress: waits }),
        ...(run && { health: health ?? HEALTHY }),
      }
    })
    const answer = await call('/heartbeat', { lease_seconds: LEASE_SECONDS, claims })
    for (const { claim_id, lost, assignment } of answer.claims) {
      if (lost) held.delete(claim_id)
      else if (assignment) Object.assign(held.get(claim_id)!, assignment)
    }
  }

  return {
    id,
    play: (name, part) => void parts.set(name, part),
    async turn() {
      const { claims } = await call('/claims', {
        holder: `${computeId}-0`,
        max: 100,
        lease_seconds: LEASE_SECONDS,
        version: '0.1.0',
      })
      for (const claim of claims as Claim[]) held.set(claim.claim_id, claim)
      await beat()
      for (const claim of held.values()) await act(claim)
      await beat()
    },
  }
}
