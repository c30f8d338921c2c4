/** Checks before a rollout: this runtime can run the revision, and the referenced Secrets exist. */
import type { RevisionWork, Step } from '../../../domain/protocol/protocol.ts'
import { StepFailure } from '../../output/step-failure.ts'
import { imageOf, localImageId } from '../../runtimes/artifact.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { LiveObject } from '../objects/types.ts'

export const NO_BUILDER =
  'The revision needs a build, and no builder is available here. Build the image elsewhere, push it to a registry, and create a deployment with source external_container or internal_container and its image_uri.'

export function requireImage(revision: RevisionWork): void {
  const image = imageOf(revision)
  if (revision.artifact !== null && (image === null || localImageId(image) !== null))
    throw new StepFailure(
      'ARTIFACT_LOST',
      'The built image of this revision is not in the registry, and a cluster runs only images of a registry. Redeploy to build it again.',
      { artifactLost: true },
    )
  if (image === null && (revision.source === 'gitprovider' || revision.source === 'internal_source'))
    throw new StepFailure('NO_BUILDER', NO_BUILDER)
  if (image === null)
    throw new StepFailure('CONFIG_INVALID', 'The revision has no image_uri, so there is nothing to run.')
}

/** Reads each Secret once and uses only its keys. Throws one StepFailure that names everything missing. */
export async function requireSecrets(
  cluster: Cluster,
  namespace: string,
  { secretReferences, spec }: Pick<Step, 'secretReferences' | 'spec'>,
): Promise<void> {
  const secrets = new Map<string, Promise<LiveObject | null>>()
  const read = (name: string) => {
    const known = secrets.get(name) ?? cluster.read({ apiVersion: 'v1', kind: 'Secret', namespace, name })
    secrets.set(name, known)
    return known
  }
  const missing = new Set<string>()
  const find = async (name: string, referrer: string) => {
    const secret = await read(name)
    if (!secret) missing.add(`${referrer} refers to Secret ${name}, which does not exist in namespace ${namespace}.`)
    return secret
  }
  for (const { name, secret_name, secret_key } of secretReferences) {
    const secret = await find(secret_name, `Secret reference ${name}`)
    if (secret && !Object.hasOwn((secret.data as object | undefined) ?? {}, secret_key))
      missing.add(
        `Secret reference ${name} refers to key ${secret_key} of Secret ${secret_name}, which has no such key.`,
      )
  }
  for (const { name, secret } of spec.volumes ?? []) {
    const { secretName, optional } = (secret ?? {}) as { secretName?: unknown; optional?: unknown }
    if (typeof secretName === 'string' && optional !== true) await find(secretName, `Volume ${name}`)
  }
  if (missing.size > 0) throw new StepFailure('SECRET_MISSING', [...missing].join('\n'))
}
