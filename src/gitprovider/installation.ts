/** Work in the name of an installation, with a token that is kept between calls. */
import type { Client, Connection } from './connection.ts'

/**
 * A kept token stops working when the app is removed, suspended or installed anew; then a new one tells what is the
 * matter, or helps.
 */
export async function asInstallation<T>(
  connection: Connection,
  installationId: number,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  const client = connection.as(installationId)
  // on its own: within the request, its retries would multiply with those of the request
  await client.auth({ type: 'installation' })
  try {
    return await work(client)
  } catch (error) {
    if ((error as { status?: number }).status !== 401) throw error
    await client.auth({ type: 'installation', refresh: true })
    return await work(client)
  }
}
