# The formula of a tap; `packaging/package homebrew` fills in the release and its checksums.
class Pairofcleats < Formula
  desc "Semantic code search on your own machines, for agents, tools and people"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "@LICENSE@"

@ARCHIVES@
  def install
    bin.install "pairofcleats"
    doc.install "README.md", "CHANGELOG.md", "THIRD-PARTY-LICENSES.txt"
    generate_completions_from_executable(bin/"pairofcleats", "completions")
  end

  service do
    run [opt_bin/"pairofcleats", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/pairofcleats --version")
  end
end
