/** The name of a deployment in its address: a DNS label (RFC 1035, 2.3.1) that is unique in the installation. */
import { randomBytes } from 'node:crypto'
import { released, setAddressName } from '../repositories/deployment.ts'
import { lockById } from '../repositories/locks.ts'
import { type Core, type ReadCore, transaction } from '../transaction/context.ts'

/** Another deployment has the name. */
export class AddressNameTaken extends Error {}

/** leaves room for the suffix, and for what APPS_URL adds to the name: a label has at most 63 characters */
const MAX_LENGTH = 40

/** Makes a label from the deployment's name. `isTaken`: another deployment has it, so it gets a random suffix. */
export function addressNameOf(name: string, isTaken: boolean): string {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_LENGTH)
    .replace(/^-+|-+$/g, '')
  return [plain || 'agent', ...(isTaken || !plain ? [randomBytes(4).toString('hex')] : [])].join('-')
}

/**
 * Deployments from before names that a door can serve: those of the process runtime, and those of the door's cluster unless their
 * `custom_url` leads past the door. `id`: only this one.
 */
export async function findUnnamed(core: ReadCore, id: string | null) {
  const { runtime, clusterDoor } = core.settings
  const ofServer = runtime === 'kubernetes' ? [{ listenerId: null }] : []
  const leadsToDoor = [
    { source: { not: 'external_container' as const } },
    { customUrl: null },
    ...(clusterDoor?.customUrls ? [{ customHost: { not: null } }] : []),
  ]
  const inCluster = clusterDoor && [{ listenerId: { in: [...clusterDoor.listeners] } }, ...ofServer]
  return core.db.deployment.findMany({
    where: {
      ...{ deletedAt: null, addressName: null, ...(id === null ? {} : { id }) },
      OR: [
        ...(runtime === 'kubernetes' ? [] : [{ listenerId: null }]),
        ...(inCluster ? [{ AND: [{ OR: inCluster }, { OR: leadsToDoor }] }] : []),
      ],
    },
    select: { id: true, name: true, listenerId: true },
  })
}

/**
 * Gives a deployment from before names a name, and releases its lease: its next holder opens the new address. Returns the name;
 * null: it is deleted. A deployment that has a name keeps it.
 */
export async function nameDeployment(core: Core, id: string): Promise<string | null> {
  const run = (isTaken: boolean) =>
    transaction(core, async (tx) => {
      const deployment = await lockById(tx, id)
      if (!deployment) return null
      const name = deployment.addressName ?? addressNameOf(deployment.name, isTaken)
      await setAddressName(tx, deployment, name)
      released(tx, deployment)
      return name
    })
  return run(false).catch((error) => {
    if ((error as { code?: unknown }).code === '23505') return run(true)
    throw error
  })
}
