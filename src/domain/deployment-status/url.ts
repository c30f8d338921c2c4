/** Where a deployment is reached. */
import type { Deployment, Prisma } from '../../generated/prisma/client.ts'

export const URL_DESCRIPTION =
  'Where it is reached: its custom_url, else the address that its data plane reported with the last deploy, which may be one inside the cluster. Null before the first.'

export const URL_FIELDS = { customUrl: true, url: true } as const satisfies Prisma.DeploymentSelect

/** Null: nothing has been deployed, and no custom URL leads there. */
export function deploymentUrl({ customUrl, url }: Pick<Deployment, keyof typeof URL_FIELDS>): string | null {
  return customUrl ?? url
}
