/** Yoga plugin: what can't be read as a GraphQL request is refused like every other error. Yoga alone answers a 500, or a 415 without a body. */
import { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'

export const useReadableRequests: Plugin = {
  onRequestParse({ requestParser, setRequestParser }) {
    setRequestParser(async (request) => {
      if (!requestParser) throw refusal(415, 'Send the request as application/json.')
      try {
        return await requestParser(request)
      } catch (error) {
        // of an address or a form; Yoga reports that of a JSON body itself
        if (error instanceof SyntaxError) throw refusal(400, 'variables and extensions must be JSON.')
        throw error
      }
    })
  },
}

function refusal(status: number, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { http: { status } } })
}
