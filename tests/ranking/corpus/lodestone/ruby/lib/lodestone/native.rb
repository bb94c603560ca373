# frozen_string_literal: true

require "fiddle/import"

module Lodestone
  # The functions of lodestone.h, called through Fiddle.
  module Native
    extend Fiddle::Importer

    dlload ENV.fetch("LODESTONE_LIBRARY", "liblodestone.so")

    Slice = struct ["void* data", "size_t length"]

    extern "int ls_open(const char*, void**)"
    extern "void ls_close(void*)"
    extern "int ls_put(void*, void*, void*)"
    extern "int ls_get(void*, void*, void**, size_t*)"
    extern "int ls_delete(void*, void*)"
    extern "void ls_free(void*)"
    extern "void* ls_batch_new()"
    extern "void ls_batch_put(void*, void*, void*)"
    extern "int ls_write(void*, void*)"
    extern "const char* ls_message(int)"

    # A Ruby string as a slice; the string must live as long as the slice.
    def self.slice(text)
      slice = Slice.malloc(Fiddle::RUBY_FREE)
      slice.data = Fiddle::Pointer[text]
      slice.length = text.bytesize
      slice
    end
  end
end
