/** The URL of a deployment, and the columns that it needs. */
import type { Deployment, Prisma } from '../../generated/prisma/client.ts'

export const URL_DESCRIPTION =
  'The address of the deployment: its custom_url, else the address that its data plane reported with the last deploy. That address may be inside the cluster. Null before the first deploy.'

export const URL_FIELDS = { customUrl: true, url: true } as const satisfies Prisma.DeploymentSelect

/** Null: nothing was deployed, and there is no custom URL. */
export function deploymentUrl({ customUrl, url }: Pick<Deployment, keyof typeof URL_FIELDS>): string | null {
  return customUrl ?? url
}
