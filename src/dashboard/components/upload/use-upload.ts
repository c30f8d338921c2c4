/** Packs a source and uploads it to a one-time URL of the deployment. */
import { useState } from 'react'
import { graphql } from '../../api/graphql.ts'
import { createProblem, type Problem } from '../../api/problem.ts'
import { useWrite } from '../../api/use-write.ts'
import type { Source } from './source.ts'
import { pack } from './tarball.ts'

const uploadUrlMutation = graphql(`
  mutation AddressToUpload($input: CreateUploadUrlInput!) {
    createUploadUrl(input: $input) {
      __typename
      ... on CreateUploadUrlSuccess {
        uploadUrl
        objectPath
      }
    }
  }
`)

/** null: no upload is running. `sent`: from 0 to 1. */
export type UploadProgress = { doing: 'packing' | 'uploading'; sent?: number } | null

/** `objectPath`: the deployment's new `sourceTarballPath` */
export type UploadOutcome = { ok: true; objectPath: string } | { ok: false; problem: Problem }

/** `upload` never throws. */
export function useUpload(): [
  send: (deploymentId: string, source: Source) => Promise<UploadOutcome>,
  sending: UploadProgress,
] {
  const [address] = useWrite(uploadUrlMutation)
  const [sending, setSending] = useState<UploadProgress>(null)

  async function steps(deploymentId: string, source: Source): Promise<UploadOutcome> {
    setSending({ doing: 'packing' })
    const packed = source.tarball ?? (await pack(source.files!))
    const place = await address({ input: { deploymentId } })
    if (!place.ok) return place
    const { uploadUrl, objectPath } = place.value
    const wrong = await put(uploadUrl, packed, (sent) => setSending({ doing: 'uploading', sent }))
    return wrong ? { ok: false, problem: createProblem('UPLOAD', wrong) } : { ok: true, objectPath }
  }

  const send = async (deploymentId: string, source: Source): Promise<UploadOutcome> => {
    try {
      return await steps(deploymentId, source)
    } catch (error) {
      return { ok: false, problem: createProblem('UPLOAD', (error as Error).message) }
    } finally {
      setSending(null)
    }
  }
  return [send, sending]
}

/** Returns null, or an error message for the user. */
function put(uploadUrl: string, body: Blob, onSent: (sent: number) => void): Promise<string | null> {
  const { pathname, search } = new URL(uploadUrl)
  // the page's policy allows requests to its own origin only, so the URL's host is ignored
  if (!pathname.startsWith('/v1/uploads/'))
    return Promise.resolve(
      'This server stores uploads in a bucket that pages can’t write to. Upload with the API (upload-url, PUT, then source_tarball_path).',
    )
  return new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.open('PUT', pathname + search)
    request.setRequestHeader('content-type', 'application/gzip')
    request.upload.onprogress = ({ loaded, total }) => onSent(total > 0 ? loaded / total : 0)
    request.onload = () => resolve(request.status < 300 ? null : errorDetail(request.responseText))
    request.onerror = () => resolve('The upload was interrupted. Try again.')
    request.send(body)
  })
}

function errorDetail(answer: string): string {
  try {
    const { detail } = JSON.parse(answer) as { detail?: unknown }
    if (typeof detail === 'string') return detail
  } catch {
    // not JSON: a proxy answered
  }
  return 'The server rejected the upload. Try again.'
}
